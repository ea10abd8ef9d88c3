import { setUpOnce } from './scripts/setup.js';

setUpOnce();
await import('ringrun/launcher');
