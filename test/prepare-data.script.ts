// Writes the result of prepareMnist on each rank: `prepare-data.script.ts prepare <folder>`, with SYNTHETIC=1 for synthetic
// digits.
import { loadMnist, prepareMnist } from 'ringrun';
import { errorOf } from './fixtures/error-of.ts';
import { runScenario } from './fixtures/run-scenario.ts';

await runScenario({
  async prepare() {
    let prepared: object | undefined;
    const error = await errorOf(async () => {
      const { location, kind, title } = await prepareMnist({ synthetic: process.env['SYNTHETIC'] === '1' });
      const { length } = await loadMnist({ split: 'test', location });
      prepared = { location, kind, title, length };
    });
    return prepared ?? { code: error?.code, message: error?.message };
  },
});
