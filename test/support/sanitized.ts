/**
 * Whether the addon runs under a sanitizer (`npm run test:sanitize`). Sanitizers keep freed memory and end the process if
 * `operator new` fails, and ThreadSanitizer needs several bytes for each byte of the program.
 */
export const isSanitized = process.env['RINGRUN_SANITIZER'] !== undefined;
