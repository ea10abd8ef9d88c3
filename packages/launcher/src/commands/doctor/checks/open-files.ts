import { parseOpenFilesLimit } from '@ringrun/core';
import { readText } from '../../../host/host-files.ts';
import { ok, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';

/** Descriptors of a process without connections: Node, libraries, the data set, logs. */
const own = 64;

/** Connections of rank 0 for each process of a job: the store, and two of the group (TCP data and control). */
const perProcess = 3;

/** Processes of a large but common job. */
const enough = 256;

export function examineOpenFiles(): Finding {
  return judgeOpenFiles(parseOpenFilesLimit(readText('/proc/self/limits')));
}

export function judgeOpenFiles(limit: number | undefined): Finding {
  if (limit === undefined) return ok('skipped: this system does not report its limit');
  const processes = Math.max(0, Math.floor((limit - own) / perProcess));
  if (processes >= enough) return ok(`limit ${limit}`, { limit });
  return warning(
    `the limit is ${limit}, which rank 0 exceeds in a job of ${processes + 1} or more processes`,
    'raise it: ulimit -n 65536, or LimitNOFILE= of the service that starts containers',
    { limit },
  );
}
