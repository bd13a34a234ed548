"""``bennafusi watch``: a trained agent at play, as an animation."""

from __future__ import annotations

import contextlib
import io
import math
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console

from bennafusi import files
from bennafusi.cli import options
from bennafusi.cli.jobs import make_job
from bennafusi.cli.playing import newest
from bennafusi.cli.printing import refuse, say
from bennafusi.experiments.registry import UnknownError
from bennafusi.files import RunError
from bennafusi.runs.load import find
from bennafusi.text import suggestion

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_FRAMES = 800  # of an animation; more steps than that, and every second or third one is shown
WIDTH, HEIGHT, STRIP = 480, 270, 26  # of an animation, in pixels; the strip is the caption's
PAPER, INK = (246, 244, 238), (60, 64, 72)
_LONG = 250  # steps of an episode of which every second one is enough
EPILOG = (
    "Examples:\n\n"
    "[bold]bennafusi watch runs/train-cartpole-online-benna-fusi[/bold]\n\n"
    "[bold]bennafusi watch runs/try --task catcher --episodes 1 --out catcher.mp4[/bold]\n\n"
    "The run may still be going on: its newest checkpoint is shown, and nothing is changed."
)


class Episode(NamedTuple):
    """One episode of one task: who moves, and the trajectory."""

    task: str
    number: int
    env: Any
    trajectory: Any


def watch(
    run: Annotated[Path, typer.Argument(help="The folder of a run, or of a command with one run.")],
    out: Annotated[
        Path | None, typer.Option(help="A .gif or .mp4 file.", show_default="RUN/watch.gif")
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, max=100, help="Of each task.")] = 3,
    task: Annotated[
        str, typer.Option(help="Only this one of the run's tasks.", show_default="each in turn")
    ] = "",
    depth: Annotated[
        int, typer.Option(min=1, help="Play the network that this beaker holds; 1 is the weight.")
    ] = 1,
    fps: Annotated[int, typer.Option(min=1, max=50, help="Pictures a second.")] = 30,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of the episodes.")] = 0,
) -> None:
    """Show a trained deep agent at play: an animation, and its returns."""
    target = run / "watch.gif" if out is None else out
    film = _film(target)
    try:
        folder = _only(run)
        spec, _ = folder.read_config()
        job = make_job(spec)
        tasks = _tasks(folder, spec, job, task)
        if not target.parent.is_dir():
            refuse(f"--out {target}: there is no folder {target.parent}; make it first")
        if (saved := newest(folder, job)) is None:
            none = "has no checkpoint yet; start the run, and the first one appears"
            refuse(f"{folder.path}: {none}")
        if depth > job.settings.chain.n:
            count = job.settings.chain.n
            has = (
                f"this run's chains have {count} beakers" if count > 1 else "this run has no chains"
            )
            refuse(f"--depth {depth}: {has}")
        played = _play(job.settings, saved.state, depth, tasks, seed, episodes)
        console = Console()
        done, total = job.progress(saved.state)
        console.print(
            f"{spec.variant}, seed {spec.seed}, after {done:,} of {total:,} {job.settings.unit}"
            + (f", beaker {depth}" if depth > 1 else ""),
            highlight=False,
        )
        for name in tasks:
            returns = [episode.trajectory.total for episode in played if episode.task == name]
            shown = ", ".join(f"{value:g}" for value in returns)
            console.print(f"{name}: returns {shown}", highlight=False)
        with console.status("drawing"):
            frames = film(target, played, fps)
        size = target.stat().st_size / 1e6
        say(console, f"{target}: {frames} frames, {size:.2f} MB")
    except (RunError, UnknownError) as error:
        refuse(error)
    except OSError as error:
        refuse(f"cannot write {target}: {error.strerror or error}", 1)


def _film(target: Path) -> Any:
    """How to write that kind of file; refuses others before any work."""
    if target.suffix not in (".gif", ".mp4"):
        refuse(f"--out {target}: must end in .gif or .mp4")
    if target.is_dir():
        refuse(f"--out {target}: is a folder; name a file")
    if target.suffix == ".mp4":
        options.need(f"--out {target}", "imageio_ffmpeg", "video")
    return _gif if target.suffix == ".gif" else _mp4


def _only(root: Path) -> Any:
    """The run in a folder, if it is the only one."""
    found = find(root)
    if len(found) > 1:
        lines = "".join(f"\n  bennafusi watch {folder.path}" for folder in found[:20])
        more = f"\n  and {len(found) - 20} more" if len(found) > 20 else ""
        refuse(f"{root} holds {len(found)} runs; name one of them:{lines}{more}")
    return found[0]


def _tasks(folder: Any, spec: Any, job: Any, task: str) -> tuple[str, ...]:
    from bennafusi.experiments.deep import play

    tasks = play.tasks(job)
    if tasks is None:
        refuse(
            f"{folder.path}: is a run of {spec.experiment}, which has no deep agent to watch; "
            "name a run of bennafusi train or of another deep experiment"
        )
    if task and task not in tasks:
        refuse(f"--task {task}: this run has no such task; {suggestion(task, tasks)}")
    return (task,) if task else tasks


def _play(
    settings: Any, state: Any, depth: int, tasks: tuple[str, ...], seed: int, count: int
) -> list[Episode]:
    from bennafusi.experiments.deep import play

    envs, found = dict(zip(settings.different, settings.envs, strict=True)), []
    for task in tasks:
        params = play.held(settings, state, task, depth)
        played = play.episodes(settings, params, task, seed, count)
        found += [Episode(task, n, envs[task], one) for n, one in enumerate(played, start=1)]
    return found


def thinned(moments: Sequence[int]) -> list[list[int]]:
    """Which moments of each episode to show: every so-many-th, and always the last.

    Args:
        moments: how many each episode has.
    """
    stride = max(math.ceil(sum(moments) / MOST_FRAMES), 2 if max(moments) > _LONG else 1)
    return [sorted({*range(0, count, stride), count - 1}) for count in moments]


def _pictures(played: list[Episode]) -> Iterator[Image]:
    moments = [len(episode.trajectory.returns) for episode in played]
    for episode, steps in zip(played, thinned(moments), strict=True):
        for step in steps:
            yield _picture(episode, step)


def _picture(episode: Episode, step: int) -> Image:
    """A scene, whatever its size, in the middle of the picture, and a strip that explains it."""
    import jax
    from PIL import Image, ImageDraw, ImageFont, ImageOps

    env, trajectory = episode.env, episode.trajectory
    scene = env.draw(jax.tree.map(lambda x: x[step], trajectory.states))
    action = env.action_names[trajectory.actions[step - 1]] if step else ""
    image = Image.new("RGB", (WIDTH, HEIGHT + STRIP), PAPER)
    part = ImageOps.contain(Image.fromarray(scene), (WIDTH, HEIGHT), Image.Resampling.BOX)
    image.paste(part, ((WIDTH - part.width) // 2, (HEIGHT - part.height) // 2))
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, HEIGHT, WIDTH, HEIGHT + STRIP), fill=INK)
    font = ImageFont.load_default(13)
    words = (
        f"{episode.task.rpartition('/')[2]} {episode.number}",
        f"step {step}",
        f"return {trajectory.returns[step]:g}",
        f"action {action}" if action else "",
    )
    for place, word in zip((10, 170, 260, 370), words, strict=True):
        pen.text((place, HEIGHT + 5), word, fill=PAPER, font=font)
    return image


def _gif(target: Path, played: list[Episode], fps: int) -> int:
    from PIL import Image

    # One palette for all pictures, so that only what moves is stored: of the first one of each task
    first = {episode.task: episode for episode in reversed(played)}.values()
    samples = [next(_pictures([episode])) for episode in first]
    sheet = Image.new("RGB", (WIDTH, (HEIGHT + STRIP) * len(samples)))
    for place, sample in enumerate(samples):
        sheet.paste(sample, (0, place * (HEIGHT + STRIP)))
    palette = sheet.quantize(48, dither=Image.Dither.NONE)
    frames = [
        picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in _pictures(played)
    ]
    content = io.BytesIO()
    frames[0].save(
        content,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=max(20, round(100 / fps) * 10),  # a GIF counts in hundredths of a second
        loop=0,
        optimize=False,
    )
    files.replace(target, content.getvalue())
    return len(frames)


def _mp4(target: Path, played: list[Episode], fps: int) -> int:
    from imageio_ffmpeg import get_ffmpeg_exe

    given_as = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT + STRIP}"]
    made_as = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    words = ["-y", "-loglevel", "error", *given_as, "-r", str(fps), "-i", "-", *made_as]
    count = 0
    # imageio's own writer forks with a function to call, which can hang a process that has JAX.
    with files.making(target) as part:
        words.append(os.path.abspath(part))  # its name may begin with a dash
        with subprocess.Popen(  # noqa: S603 - every word of it is ours
            [get_ffmpeg_exe(), *words],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as ffmpeg:
            assert ffmpeg.stdin is not None
            assert ffmpeg.stderr is not None
            with contextlib.suppress(BrokenPipeError):  # what it says is told below
                for count, picture in enumerate(_pictures(played), start=1):  # noqa: B007
                    ffmpeg.stdin.write(picture.tobytes())
                ffmpeg.stdin.close()
            complaint = ffmpeg.stderr.read().decode(errors="replace").strip()
        if ffmpeg.returncode:
            raise RunError(f"cannot write {target}: ffmpeg says {complaint or 'nothing'}")
    return count
