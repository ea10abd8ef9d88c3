/**
 * The command `ringrun`, which runs when this module is loaded.
 *
 * @module ringrun/launcher
 */
import '@ringrun/launcher/command';
