/** Tools of measurements: figures, percentiles, allocation, the disk of a home, handlers. */
package io.waybill.bench.measure;
