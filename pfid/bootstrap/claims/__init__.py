"""The ledger of claims: judged, added to, superseded, explained."""
