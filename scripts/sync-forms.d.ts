/** Types of sync-forms.js, for tests. */
export interface SyncForms {
  file: string;
  name: string;
  methods?: readonly string[];
}
export const interfaces: readonly SyncForms[];
export function withSyncForms(text: string, of: Omit<SyncForms, 'file'>): string;
