"""Live drills: real faults through a running daemon, good, bad and good again.

Fakes prove the judge, not the reader. Here a canary process is really killed, really stopped, its
step file and log are really written, and the verdict, the event and the metric are waited for, each
by its reason code. Everything is marked synthetic: it never enters the real history, a user's log
or the real page.
"""
