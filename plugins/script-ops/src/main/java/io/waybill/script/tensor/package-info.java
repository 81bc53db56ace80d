/** The memory of tensors that libtorch and the broker share. */
package io.waybill.script.tensor;
