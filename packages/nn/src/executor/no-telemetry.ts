// Imported before onnxruntime, whose Linux binaries have told Microsoft of each model and device since 1.29 unless this is set
// (onnxruntime, docs/Privacy.md), and leave an identifier in the user's cache. Training tells nobody; who wants it to tell sets the variable to nothing.
process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
