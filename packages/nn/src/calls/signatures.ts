import { distributions } from './signatures/distributions.ts';
import { functional } from './signatures/functional.ts';
import { modules } from './signatures/modules.ts';
import { optimization } from './signatures/optimization.ts';
import { tensors } from './signatures/tensors.ts';

/** The arguments of torch's functions and constructors in torch's order. A test compares them with torch's signatures. */
export const signatures = { ...distributions, ...functional, ...modules, ...optimization, ...tensors };

/** The table of signatures. */
export type Signatures = typeof signatures;
