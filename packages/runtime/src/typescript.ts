/**
 * `node --import ringrun/typescript` runs TypeScript as the launcher does.
 *
 * @module ringrun/typescript
 */
import '@ringrun/launcher/typescript';
