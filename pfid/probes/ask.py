"""Ask one question in the training interpreter: the first file of ours that it reads.

    PFID_ASKED='{}' PYTHON ask.py QUESTION_FILE FOLDER imports|- SECONDS 3> answer

A question is a file with one function, ``answer(asked)``, from a JSON object to a JSON object. The
answer goes to descriptor 3, so that whatever a library prints is no part of it. This file keeps to
what every Python 3 can read: an old one is to say which it is, not to stumble over the syntax.

A launch waits for the first answer: what is loaded here is what the interpreter itself holds ready.
"""

import os
import sys

try:
    from _signal import alarm  # type: ignore[import-not-found]  # `signal` loads enumerations too
except ImportError:
    from signal import alarm

ANSWER_FD = 3
GRACE_S = 10
"""A caller that dies leaves nobody to end this: it ends itself so long after its deadline."""

if __name__ == "__main__":
    QUESTION, FOLDER, IMPORTS, SECONDS = sys.argv[1:5]
    alarm(int(float(SECONDS)) + GRACE_S)
    # The probes are no library: a file here may bear the name of a standard module.
    # (pathlib would cost as much as all the rest.)
    if os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):  # noqa: PTH120
        del sys.path[0]
    import json

    ANSWER = {
        "pfid": 1,
        "python": sys.executable,
        "version": "{}.{}.{}".format(*sys.version_info[:3]),
    }
    if sys.version_info >= (3, 9):
        try:
            ASKED = json.loads(os.environ.pop("PFID_ASKED"))
            os.chdir(FOLDER)
            if IMPORTS == "imports" and not getattr(sys.flags, "safe_path", False):
                sys.path.insert(0, FOLDER)
            FOUND = {"__name__": "pfid_question", "__file__": QUESTION}
            with open(QUESTION) as FILE:  # noqa: PTH123 - likewise
                exec(compile(FILE.read(), QUESTION, "exec"), FOUND)  # noqa: S102 - a file of ours
            ANSWER["answer"] = json.loads(json.dumps(FOUND["answer"](ASKED)))  # type: ignore[operator]
        except (Exception, SystemExit):  # noqa: BLE001 - what a library may raise when imported
            import traceback

            ANSWER["raised"] = traceback.format_exc()[-4000:]
    TEXT = json.dumps(ANSWER).encode("ascii")
    while TEXT:
        TEXT = TEXT[os.write(ANSWER_FD, TEXT) :]
    # Threads and exit hooks of what was imported concern nobody any more.
    os._exit(0)
