// Serves stores in a thread, one after the other, when its parent asks for one, and exits with the parent.
import type { ThreadedStoreServer } from '../../dist/store/threaded-server.js';
import { serveStoreInThread } from './fixtures/internals.ts';

let store: ThreadedStoreServer;

const answers = {
  async open(): Promise<{ port: number }> {
    store = await serveStoreInThread({ host: '127.0.0.1', port: 0 });
    return { port: store.port };
  },
  async close(): Promise<object> {
    await store.close();
    return {};
  },
};

process.on('message', (request: keyof typeof answers) => {
  void answers[request]().then((answer) => process.send!(answer));
});
