// `node --import ringrun/typescript train.ts` runs TypeScript as the launcher does. Threads inherit --import.
import { runTypeScript } from './run-typescript.ts';

await runTypeScript();
