from __future__ import annotations

from catchment.engine.protocol import Facts, Preparing
from catchment.errors import EngineLost
from catchment.run.reply_queues import ReplyQueues


def test_replies_go_to_their_questions_and_those_to_none_are_dropped() -> None:
    queues = ReplyQueues()
    with queues.replies_to("one") as one, queues.replies_to("two") as two:
        for question in ("two", "given up", "one"):
            queues.deliver(Facts(question, {"to": question}))
        assert [one.get_nowait(), two.get_nowait()] == [Facts("one", {"to": "one"}), Facts("two", {"to": "two"})]
        assert (one.empty(), two.empty()) == (True, True)


def test_what_an_engine_says_of_itself_is_heard_once() -> None:
    queues = ReplyQueues()
    queues.deliver(Preparing("early"))
    with queues.replies_to("one") as one, queues.replies_to("two") as two:
        queues.deliver(Preparing("late"))
        assert [one.get_nowait(), one.get_nowait()] == [Preparing("early"), Preparing("late")]
        assert two.empty()


def test_what_an_engine_says_of_itself_after_the_answer_is_heard_by_the_next_question() -> None:
    queues = ReplyQueues()
    with queues.replies_to("one") as one:
        queues.deliver(Facts("one", {}))
        queues.deliver(Preparing("it stays"))
        queues.deliver(Facts("one", {"late": True}))
        assert one.get_nowait() == Facts("one", {})
    with queues.replies_to("two") as two:
        assert (two.get_nowait(), two.empty()) == (Preparing("it stays"), True)


def test_an_engine_that_is_lost_answers_every_question() -> None:
    queues, lost = ReplyQueues(), EngineLost("gone")
    with queues.replies_to("one") as one:
        queues.deliver(lost)
        assert one.get_nowait() is lost
    for _ in range(2):
        with queues.replies_to("later") as later:
            assert later.get_nowait() is lost
