// Gives files that tsx loads the module kind that Node would find in their syntax.
import { register } from 'node:module';

register('./module-syntax-hook.js', import.meta.url);
