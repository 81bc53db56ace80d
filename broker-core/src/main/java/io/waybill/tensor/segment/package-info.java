/** Segments: files through which tensor bytes travel, what is leased of them, and their mappings. */
package io.waybill.tensor.segment;
