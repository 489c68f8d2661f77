"""What is known of the account's own messages."""

from hermes_chatto.actors.sessions.own_posts import REMEMBERED, OwnPosts


def test_what_was_shown_before_a_mark_is_told_from_what_came_after() -> None:
    """A mark is taken when a post is tried."""
    posts = OwnPosts()
    assert posts.before(posts.now()) == frozenset()
    posts.note("m1")
    mark = posts.now()
    posts.note("m2")
    posts.note("m1")

    assert posts.before(mark) == {"m1"}
    assert posts.before(0) == frozenset()


def test_a_part_may_find_its_own_message_again() -> None:
    """Its row may not have been written; the others are not its."""
    posts = OwnPosts()
    posts.claim("m1", "a/1")
    posts.claim("m2", "b/1")

    assert posts.claimed_by_others("a/1") == {"m2"}
    assert posts.claimed_by_others("c/1") == {"m1", "m2"}


def test_the_oldest_are_forgotten() -> None:
    """Memory has a bound."""
    posts = OwnPosts()
    for number in range(REMEMBERED + 1):
        posts.note(f"m{number}")
        posts.claim(f"m{number}", "a/1")

    assert len(posts.before(posts.now())) == REMEMBERED
    assert "m0" not in posts.claimed_by_others("b/1")
