"""What a live self-test made has a page of its own, beside the real one."""


def test_drills_stand_on_their_own_page_and_never_on_the_real_one(serve, get):
    server = serve(page=b"real 1\n")
    server.publish_selftest(b"drill 1\n")
    assert get(server)[2].startswith(b"real 1\n")
    assert get(server, "/-/selftest")[2].startswith(b"drill 1\n")
    assert b"drill" not in get(server)[2]


def test_without_a_drill_there_is_nothing_to_show_and_being_asked_counts(serve, get):
    server = serve()
    assert get(server, "/-/selftest")[0] == 503
    assert server.scrapes == 1
    assert server.last_scrape_s is not None
    server.publish_selftest(b"drill 1\n")
    server.publish_selftest(None)
    assert get(server, "/-/selftest")[0] == 503
