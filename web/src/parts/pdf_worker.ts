// pdf.js reads files in this worker.
import 'pdfjs-dist/legacy/build/pdf.worker.min.mjs';
