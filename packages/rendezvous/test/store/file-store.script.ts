// A process that opens the file STORE. Its argument: `count` increments a counter, `count on` does so until the process is
// killed, `keep the pen` locks the file for writing, and `stay` keeps the file open until the process is killed.
import { setInterval } from 'node:timers';
import { FileStore } from 'ringrun';
import { LogFile } from './fixtures/internals.ts';

const path = process.env['STORE']!;
const worldSize = Number(process.env['WORLD_SIZE']);

const open = (): Promise<FileStore> =>
  FileStore.open(path, { timeoutMs: 30_000, ...(worldSize > 0 ? { worldSize } : {}) });

switch (process.argv[2]) {
  case 'count': {
    const store = await open();
    const counts = [];
    for (let i = 0; i < Number(process.env['ADDS']); i += 1) counts.push(await store.add('n', 1));
    console.log(counts.join(' '));
    await store.close();
    break;
  }
  case 'count on': {
    const store = await open();
    for (let i = 0; ; i += 1) {
      await store.add('n', 1);
      if (i === 20) console.log('counts');
    }
  }
  case 'keep the pen': {
    const log = await LogFile.open(path);
    if (log.tryTakePen()) console.log('has the pen');
    setInterval(() => undefined, 60_000);
    break;
  }
  case 'stay': {
    const store = await open();
    await store.set('here', '');
    console.log('opened');
    setInterval(() => undefined, 60_000);
    break;
  }
}
