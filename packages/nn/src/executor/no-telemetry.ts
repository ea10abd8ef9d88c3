// Must be imported before onnxruntime. Since 1.29 its Linux binaries report models and devices to Microsoft and store an
// identifier in the user's cache, unless this variable is set (onnxruntime, docs/Privacy.md). To enable telemetry, set
// it to the empty string.
process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
