"""The grammar of `streaming`: how a job that reads a stream runs (canonical keys only)."""

from __future__ import annotations

from catchment.spec.grammar.fields import OutputMode, Part, TriggerDuration, TriggerMode, optional
from catchment.spec.validation import Flag, Text


class Streaming(Part):
    """How a job that reads a stream runs."""

    trigger_mode: TriggerMode | None = optional(
        "ProcessingTime, AvailableNow, or Once (OneTime), which is the same as AvailableNow; without it, batches run "
        "one right after the other."
    )
    trigger_duration: TriggerDuration | None = optional("Of ProcessingTime: the interval, such as 10 seconds.")
    output_mode: OutputMode | None = optional(
        "Which rows a batch has: append (new ones, the default), complete (the whole result), update (changed ones)."
    )
    checkpoint_location: Text | None = optional(
        "Address or path of the directory that remembers what was read; without it, one under .catchment/streams."
    )
    for_each_batch_mode: Flag | None = optional("Implied: every output of a stream is written batch by batch.")
    batch_mode: Flag | None = optional("Implied by AvailableNow and Once: the job ends when it has read what is there.")
    extra_options: dict[str, Text] | None = optional("Refused: options belong to the input or the output.")
