"""The private folder."""

import stat

from microagg.app.home import Home


def test_only_its_owner_looks_into_it_and_it_goes(tmp_path):
    home = Home(tmp_path)
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    upload, run = home.new_upload(".csv"), home.new_run()
    upload.write_text("a\n1\n")
    assert upload.is_relative_to(home.path)
    assert stat.S_IMODE(upload.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    home.clear()
    assert not upload.exists()
    home.new_upload(".csv").write_text("a\n1\n")
    home.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_app_left_goes_and_what_another_uses_stays(tmp_path):
    left, used = Home(tmp_path), Home(tmp_path)
    left.new_upload(".csv").write_text("a\n1\n")
    used.new_upload(".csv").write_text("a\n1\n")
    # As if the process had ended: nobody holds its lock.
    left._own.let_go()
    new = Home(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {used.path.name, new.path.name}
    used.remove()
    new.remove()
