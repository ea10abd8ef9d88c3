import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readFileSync, readlinkSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { namesIn } from '../host/host-files.ts';

/*
 * The launcher's temporary folder, `ringrun-<pid>-<start time>-<pid namespace>-<6 random characters>`, has the workers'
 * error records. The workers remove it if the launcher is killed. If a launcher is killed while it has no workers, the
 * next launcher removes the folder.
 */

/** Groups: pid, start time, pid namespace. */
const pattern = /^ringrun-(\d+)-(\d+)-([\da-f]{8})-\w{6}$/;

/**
 * Creates this launcher's folder, and begins to remove those of launchers that were killed. Prints a warning
 * and returns undefined if it cannot be created.
 */
export function makeLauncherFolder(): string | undefined {
  const namespace = pidNamespace();
  const startTime = startTimeOf(process.pid);
  const isIdentified = namespace !== undefined && startTime !== undefined;
  const owner = isIdentified ? `${process.pid}-${startTime}-${namespace}-` : '';
  try {
    const folder = mkdtempSync(join(tmpdir(), `ringrun-${owner}`));
    if (isIdentified) void removeStaleFolders(namespace);
    return folder;
  } catch (error) {
    process.stderr.write(
      `ringrun: failure reports will have no stack, as no temporary folder can be created: ${(error as Error).message}\n`,
    );
    return undefined;
  }
}

/** The temporary folders of this user's launchers, which `makeLauncherFolder` creates. */
export function launcherFolders(): { path: string; launcherPid: number }[] {
  return namesIn(tmpdir()).flatMap((name) => {
    const found = pattern.exec(name);
    const path = join(tmpdir(), name);
    return found && isOwnFolder(lstatSync(path, { throwIfNoEntry: false }))
      ? [{ path, launcherPid: Number(found[1]) }]
      : [];
  });
}

function isOwnFolder(found: Stats | undefined): boolean {
  return found !== undefined && found.isDirectory() && found.uid === process.getuid?.();
}

/** Removes the folders of this user's launchers that have ended. Never rejects. */
async function removeStaleFolders(namespace: string): Promise<void> {
  try {
    for (const name of await readdir(tmpdir())) {
      const [, pid, startTime, owner] = pattern.exec(name) ?? [];
      if (owner !== namespace || startTimeOf(Number(pid)) === startTime) continue;
      const folder = join(tmpdir(), name);
      const found = await lstat(folder);
      if (isOwnFolder(found)) await rm(folder, { recursive: true, force: true });
    }
  } catch {
    // Another launcher removes the same folders, or the next one tries again.
  }
}

/** Clock ticks from the boot to the start of a process; undefined if it does not run. */
function startTimeOf(pid: number): string | undefined {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // Field 22; the second one, in parentheses, may contain any characters.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** Differs between boots, hosts and containers, whose process numbers mean different processes. */
function pidNamespace(): string | undefined {
  const identity = read(
    () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8') + readlinkSync('/proc/self/ns/pid'),
  );
  return identity && createHash('sha256').update(identity).digest('hex').slice(0, 8);
}

function read<Value>(readValue: () => Value): Value | undefined {
  try {
    return readValue();
  } catch {
    return undefined;
  }
}
