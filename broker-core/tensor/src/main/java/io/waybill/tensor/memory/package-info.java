/** Native memory, its pages, and copies between strided tensors. */
package io.waybill.tensor.memory;
