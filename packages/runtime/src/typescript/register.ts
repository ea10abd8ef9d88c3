// `node --import ringrun/typescript train.ts`: runs TypeScript as the launcher does, also in threads, which inherit --import.
import { runTypeScript } from './run-typescript.ts';

await runTypeScript();
