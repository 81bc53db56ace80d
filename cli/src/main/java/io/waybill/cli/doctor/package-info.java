/**
 * {@code waybill doctor}: checks whether this machine meets Waybill's requirements.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cli.doctor.DoctorCommand} runs one check for each part of the machine
 *   <li>{@link io.waybill.cli.doctor.Diagnoses} collect the results
 * </ul>
 */
package io.waybill.cli.doctor;
