/** What measurements measure with: figures, percentiles, allocation, the disk of a home. */
package io.waybill.bench.measure;
