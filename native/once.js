// One process of those that want the same thing at the same time does it; the others wait for it and take its result.
//
// Who works holds a file, and changes its modification time every second. A file that stays as it is for `staleAfterMs` was left by a process that has
// died: it may have been on another host, or in another container, where no process id says so. Only changes are looked at, not the time itself,
// because the clocks of hosts differ. Two processes may both find such a file stale and both work: that costs time and nothing else, so `work` must be safe then.
import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';

const beatMs = 1_000;
const pollMs = 100;
const noticeAfterMs = 10_000;

/**
 * @param lock The file that is held; `${lock}.failed` is what the last process that failed said.
 * @param work Is run by one process.
 * @param isDone Whether another process has done it meanwhile.
 * @param onWait Called once, with the holder, when waiting takes long.
 */
export async function once({ lock, work, isDone, onWait, staleAfterMs = 15_000 }) {
  mkdirSync(dirname(lock), { recursive: true });
  const failure = `${lock}.failed`;
  const failedBefore = textOf(failure);
  await take(lock, { onWait, staleAfterMs });
  const beat = setInterval(() => touch(lock), beatMs);
  const release = () => rmSync(lock, { force: true });
  process.once('exit', release);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  try {
    if (isDone()) return;
    const failed = textOf(failure);
    // While this process waited for another: it would fail here too.
    if (failed !== undefined && failed !== failedBefore)
      throw new Error(failed.slice(failed.indexOf('\n') + 1));
    await work().catch((error) => {
      writeFileSync(failure, `process ${process.pid}, ${new Date().toISOString()}\n${error.message}`);
      throw error;
    });
    rmSync(failure, { force: true });
  } finally {
    clearInterval(beat);
    release();
    process.off('exit', release);
  }
}

/** Returns when this process holds the file. */
async function take(lock, { onWait, staleAfterMs }) {
  const started = performance.now();
  let noticed = false;
  let seen = { beat: undefined, at: started };
  for (;;) {
    try {
      writeFileSync(lock, `process ${process.pid} on ${hostname()}`, { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const beat = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    const now = performance.now();
    if (beat !== seen.beat) seen = { beat, at: now };
    else if (now - seen.at > staleAfterMs) rmSync(lock, { force: true });
    if (!noticed && now - started > noticeAfterMs) {
      noticed = true;
      onWait(textOf(lock) ?? 'another process');
    }
    await sleep(pollMs);
  }
}

function touch(lock) {
  try {
    const now = new Date();
    utimesSync(lock, now, now);
  } catch {
    // Another process has taken it for stale, as after this one was stopped for long.
  }
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
