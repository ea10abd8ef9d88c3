// One rank of a job in which other ranks die. The first argument is its role.
import {
  allReduce,
  connectStore,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
  recv,
} from 'ringrun';

const { MASTER_PORT: port, RANK: rank, WORLD_SIZE: size, TEST_TIMEOUT_MS: timeoutMs = 600_000 } = process.env;

async function join(): Promise<void> {
  await initProcessGroup({ timeoutMs: Number(timeoutMs) });
  const sum = Float32Array.of(getRank() + 1);
  await allReduce(sum);
  console.log(`group of ${getWorldSize()}: sum ${sum[0]}`);
}

/** Waits for the death of another rank. */
async function awaitDeath(): Promise<void> {
  try {
    await recv(new Float32Array(1));
  } catch (error) {
    console.log(`failed: ${(error as Error).message}`);
  }
}

switch (process.argv[2]) {
  case 'join':
    await join();
    await destroyProcessGroup();
    break;
  case 'idle':
    await join();
    setInterval(() => undefined, 1000);
    break;
  case 'destroy after a failure':
    await join();
    await awaitDeath();
    await destroyProcessGroup();
    console.log('destroyed');
    break;
  case 'survive': {
    await join();
    for (let deaths = Number(process.argv[3]); deaths > 0; --deaths) {
      await awaitDeath();
      await destroyProcessGroup();
      await join();
    }
    await destroyProcessGroup();
    break;
  }
  case 'die after joining': {
    const store = await connectStore({ host: '127.0.0.1', port: Number(port) });
    const set = store.set.bind(store);
    store.set = async (key, value) => {
      if (key.includes('/rank-info/')) process.kill(process.pid, 'SIGKILL');
      await set(key, value);
    };
    await initProcessGroup({ store, rank: Number(rank), worldSize: Number(size) });
  }
}
