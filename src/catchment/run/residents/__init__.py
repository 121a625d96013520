"""Resident engines: services that keep an engine warm, so that commands do not have to start one."""
