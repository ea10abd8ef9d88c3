export { Net } from './net.ts';
