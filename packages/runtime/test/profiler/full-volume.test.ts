import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { profile } from '../../src/profiler/index.ts';
import { canMount, fill, mounted, mountProblem } from '../support/small-volume.ts';

test.runIf(canMount)(
  `a profile on a full volume is an error that leaves no part${mountProblem}`,
  async () => {
    const folder = mounted('size=256k')!;
    const path = join(folder, 'trace.json');
    const profiler = await profile({ path });
    profiler.step();
    const free = fill(folder);
    await expect(profiler.stop()).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(readdirSync(folder)).toEqual(['ballast']);
    free();
    const later = await profile({ path });
    later.step();
    await later.stop();
    expect(JSON.parse(readFileSync(path, 'utf8'))).toHaveProperty('traceEvents');
  },
);
