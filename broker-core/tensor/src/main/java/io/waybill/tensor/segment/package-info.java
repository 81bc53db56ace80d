/** Segments: files through which tensor bytes travel, their leases, and their mappings. */
package io.waybill.tensor.segment;
