/**
 * The converter for devices of the type cuda.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cuda.converter.CudaConverter} for the component
 *   <li>{@link io.waybill.cuda.converter.CudaDevice} for the copies and their order
 * </ul>
 */
package io.waybill.cuda.converter;
