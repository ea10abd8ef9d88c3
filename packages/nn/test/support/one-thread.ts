// Imported for its effect: the graphs of a test are so small that a second thread of onnxruntime would spend its time waiting, and the core
// belongs to the test beside.
process.env.OMP_NUM_THREADS = '1';
