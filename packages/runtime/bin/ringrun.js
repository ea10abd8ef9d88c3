#!/usr/bin/env node
import '../../launcher/dist/commands/main.js';
