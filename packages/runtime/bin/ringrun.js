#!/usr/bin/env node
import '../dist/launcher/main.js';
