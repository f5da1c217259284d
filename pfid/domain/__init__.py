"""The words pfid uses. No behaviour beyond invariants (DESIGN, section 2)."""
