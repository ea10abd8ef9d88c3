// Imported for its side effect: the graphs of a test are so small that a second thread of onnxruntime would spend its time
// waiting, and the core is left to other tests.
process.env.OMP_NUM_THREADS = '1';
