"""Exceptions of Java, as far as they are asked."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.errors import PySparkException


@dataclass(frozen=True)
class Raised:
    """An exception of Java, and its class."""

    text: str

    name: str = "java.lang.Exception"

    code: int | None = None
    """The status that a service of AWS answered with."""

    def getMessage(self) -> str:  # noqa: N802 - Java's name
        return self.text

    def getClass(self) -> Raised:  # noqa: N802 - Java's name
        return self

    def getName(self) -> str:  # noqa: N802 - Java's name
        return self.name

    def getStackTrace(self) -> list[object]:  # noqa: N802 - Java's name
        return []

    def getCause(self) -> None:  # noqa: N802 - Java's name
        """It has none."""

    def getInterfaces(self) -> list[object]:  # noqa: N802 - Java's name
        return []

    def getSuperclass(self) -> None:  # noqa: N802 - Java's name
        """Nobody asks further."""

    def toString(self) -> str:  # noqa: N802 - Java's name
        return f"{self.name}: {self.text}"

    def statusCode(self) -> int | None:  # noqa: N802 - Java's name
        return self.code


class FromJava(PySparkException):  # type: ignore[misc]
    """What Python raises for an exception of Java."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(raised.text)
        self._origin = raised
