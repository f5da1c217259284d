"""One file per command, loaded only when called; no decisions are taken here."""
