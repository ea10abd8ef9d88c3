import { setUpOnce } from './scripts/setup.js';

await setUpOnce();
await import('ringrun/launcher');
