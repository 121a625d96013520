"""Paimon tables: Paimon's own writer, and one commit for many writers."""
