import os
import signal

import pytest

from catchment.cli.interaction import stop_on_signal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_a_second_ctrl_c_insists(number: signal.Signals) -> None:
    with stop_on_signal() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.is_set()
        os.kill(os.getpid(), signal.SIGTERM)  # from whoever has got it, too, and passes it on
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_signals_are_given_back() -> None:
    earlier = signal.getsignal(signal.SIGINT)
    with stop_on_signal():
        assert signal.getsignal(signal.SIGINT) is not earlier
    assert signal.getsignal(signal.SIGINT) is earlier
