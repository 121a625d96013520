"""How a depot is reached: passes the settings of Kafka's consumers from the project file to an engine's readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from catchment.formats.traits import Problem, problem

if TYPE_CHECKING:
    from catchment.project.model import Depot

SERVERS = "bootstrap.servers"
# Spark redacts the values of settings whose names contain `secret`, both in SQL and in its logs.
_HIDDEN = "spark.catchment.secret.kafka"
DEFAULTS = {
    # Records of aborted transactions must not be read.
    "isolation.level": "read_committed",
    # Spark tries three times, so an unreachable broker is reported after a minute.
    "default.api.timeout.ms": "20000",
    "request.timeout.ms": "20000",
}
"""The default settings of a depot."""
_SASL = frozenset(
    {
        *("mechanism", "jaas.config", "client.callback.handler.class", "login.callback.handler.class", "login.class"),
        *("login.connect.timeout.ms", "login.read.timeout.ms", "login.retry.backoff.ms", "login.retry.backoff.max.ms"),
        *("login.refresh.buffer.seconds", "login.refresh.min.period.seconds"),
        *("login.refresh.window.factor", "login.refresh.window.jitter"),
        *("kerberos.kinit.cmd", "kerberos.min.time.before.relogin", "kerberos.service.name"),
        *("kerberos.ticket.renew.jitter", "kerberos.ticket.renew.window.factor"),
        *("oauthbearer.clock.skew.seconds", "oauthbearer.expected.audience", "oauthbearer.expected.issuer"),
        *("oauthbearer.jwks.endpoint.refresh.ms", "oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
        *("oauthbearer.jwks.endpoint.retry.backoff.ms", "oauthbearer.jwks.endpoint.url"),
        *("oauthbearer.scope.claim.name", "oauthbearer.sub.claim.name", "oauthbearer.token.endpoint.url"),
    }
)
_SSL = frozenset(
    {
        *("cipher.suites", "enabled.protocols", "endpoint.identification.algorithm", "engine.factory.class"),
        *("key.password", "keymanager.algorithm", "keystore.certificate.chain", "keystore.key", "keystore.location"),
        *("keystore.password", "keystore.type", "protocol", "provider", "secure.random.implementation"),
        *("trustmanager.algorithm", "truststore.certificates", "truststore.location", "truststore.password"),
        "truststore.type",
    }
)
KNOWN = frozenset(
    {
        *("security.protocol", "security.providers", "isolation.level", "group.id", "client.id", "client.rack"),
        *("client.dns.lookup", "check.crcs", "connections.max.idle.ms", "default.api.timeout.ms", "fetch.max.bytes"),
        *("fetch.max.wait.ms", "fetch.min.bytes", "max.partition.fetch.bytes", "max.poll.records"),
        *("metadata.max.age.ms", "receive.buffer.bytes", "send.buffer.bytes", "reconnect.backoff.ms"),
        *("reconnect.backoff.max.ms", "request.timeout.ms", "retry.backoff.ms"),
        *("socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms"),
        *(f"sasl.{name}" for name in _SASL),
        *(f"ssl.{name}" for name in _SSL),
    }
)
"""The settings of Kafka's consumers that have an effect: Spark sets the others itself, or nothing uses them."""


def check_conf(conf: Mapping[str, str]) -> Iterator[tuple[str, Problem]]:
    """Report the settings of a depot that would have no effect, each with its name."""
    for name in (name for name in conf if name not in KNOWN):
        plain = name.removeprefix("kafka.")
        if name == SERVERS:
            hint = "write the servers in `location`"
        elif plain in KNOWN:
            hint = f"write `{plain}`: all settings of this depot are Kafka's"
        else:
            close = get_close_matches(plain, KNOWN, n=1)
            hint = f"did you mean `{close[0]}`?" if close else "use a setting of Kafka's consumers"
        yield name, problem("unsupported-option", f"the setting `{name}` has no effect on a depot of kind kafka", hint)


def settings(depots: Sequence[Depot], spark: str, *, local: bool) -> dict[str, str]:
    """The settings of an engine that tell its readers how to reach each depot."""
    return {
        f"{prefix(depot.name)}{name}": value
        for depot in depots
        for name, value in {**DEFAULTS, **depot.conf, SERVERS: depot.location}.items()
    }


def prefix(depot: str) -> str:
    """The prefix of an engine's settings that belong to a depot."""
    return f"{_HIDDEN}.{depot}."
