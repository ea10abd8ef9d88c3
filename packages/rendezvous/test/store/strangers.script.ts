// Serves a store. For each message it sends the number of its open descriptors, and whether it can start a process.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { StoreServer } from '@ringrun/rendezvous';

const { port } = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
process.on('message', () => {
  const { error } = spawnSync('true');
  process.send!({
    descriptors: countOf(),
    spawned: (error as NodeJS.ErrnoException | undefined)?.code ?? 'ok',
  });
});
process.once('disconnect', () => process.exit());
process.send!({ port });

function countOf(): number | string {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch (error) {
    return String(error);
  }
}
