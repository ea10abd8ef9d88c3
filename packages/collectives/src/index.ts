export * from './dtype.ts';
export * from './errors.ts';
export * from './process-group.ts';
export * from './reduce-op.ts';
export * from './store.ts';
