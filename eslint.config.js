import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['**/dist/', '**/build/', '**/node_modules/', 'release/']),
  js.configs.recommended,
  {
    languageOptions: {
      globals: { process: 'readonly', console: 'readonly', performance: 'readonly', URL: 'readonly' },
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    // One program for all files: with a program for each tsconfig.json, the types of every package were computed again in
    // each project that imports it.
    languageOptions: {
      parserOptions: { project: 'tsconfig.lint.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // Error messages and log lines are full of ranks, sizes and shapes.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // An underscore says that a parameter belongs to a signature and is not used.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // Indices that a loop's bound or a check above has proved.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    // The only code that runs in a browser.
    files: ['packages/launcher/src/dashboard/page/client/**/*.ts'],
    languageOptions: {
      parserOptions: {
        project: 'packages/launcher/src/dashboard/page/client/tsconfig.json',
        tsconfigRootDir: import.meta.dirname,
      },
    },
  },
);
