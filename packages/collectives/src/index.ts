export * from './dtype.ts';
export * from './errors.ts';
export * from './gloo/index.ts';
export * from './hash-store.ts';
export * from './process-group.ts';
export * from './reduce-op.ts';
export * from './store.ts';
